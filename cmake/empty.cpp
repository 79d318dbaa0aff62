// A room without code still makes a library.
