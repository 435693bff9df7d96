// Package docs contains the pages that the command line shows.
package docs

import "embed"

// Runbooks are the pages about alerts and conditions, by path.
//
//go:embed runbooks/*.md
var Runbooks embed.FS

// Conditions is the page with the tables of all conditions and their runbooks.
//
//go:embed troubleshooting/conditions.md
var Conditions string

// Messages is the list of all messages of conditions, with their reasons.
//
//go:embed reference/messages/conditions.md
var Messages string
