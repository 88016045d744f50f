"""`python -m errorbar` is `errorbar`."""

from errorbar.cli import main

if __name__ == "__main__":
    main()
