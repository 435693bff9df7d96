// Package suggest finds the correct form of a misspelled name.
package suggest

import "iter"

// Closest returns the name with the fewest edits, and the alphabetically first of several; empty if it takes so many edits that the name is
// probably not misspelled.
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

// distance returns the number of edits from a to b, at most most+1.
func distance(a, b string, most int) int {
	if d := len(a) - len(b); d > most || -d > most {
		return most + 1
	}
	return Distance(a, b)
}

// Distance returns the number of bytes to insert, delete or replace to change a to b.
func Distance(a, b string) int {
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
