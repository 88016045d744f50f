"""Read run folders of HELM."""
