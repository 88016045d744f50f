"""`python -m howsure` is `howsure`."""

from howsure.cli import main

if __name__ == "__main__":
    main()
