// Makes a program of Go one that is linked with the C library.
package main

import "C"
