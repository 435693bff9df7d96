// Package rotation interprets rotation schedules: their times, the shortest interval between two times, and the number of
// keys that a repository must therefore keep. Its errors report in advance the settings that the companion could not apply.
package rotation
