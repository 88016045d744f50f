"""What was stored, put into another form or scored again: nothing that is there is overwritten."""
