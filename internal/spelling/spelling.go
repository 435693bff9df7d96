// Package spelling guesses what a misspelled name was meant to be.
package spelling

import "iter"

// Closest returns the name that takes the fewest edits to come to, the first in the alphabet of several; empty if it takes so many that
// it is another name.
func Closest(name string, names iter.Seq[string]) string {
	most := 1 + len(name)/4
	best, found := most+1, ""
	for candidate := range names {
		if d := distance(name, candidate, most); d < best || d == best && candidate < found {
			best, found = d, candidate
		}
	}
	return found
}

// distance counts the bytes to insert, delete or replace to come from a to b, up to most+1.
func distance(a, b string, most int) int {
	if d := len(a) - len(b); d > most || -d > most {
		return most + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
