"""The words of a note are removed from every object of the bucket that holds them."""
