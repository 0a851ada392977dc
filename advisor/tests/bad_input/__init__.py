"""Bad input by every way there is: what a request is, how it is judged, and the tables of them."""
