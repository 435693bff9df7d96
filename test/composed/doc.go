// Package composed tests the objects of whole clouds against tables written by hand: retained data, values of options, addresses, versions,
// connections and egress rules. Its tests notice mistakes in the services that a golden file only records.
package composed
