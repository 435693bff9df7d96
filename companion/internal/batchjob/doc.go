// Package batchjob builds and reads Jobs with one pod that runs once: whether they may start, whether and how they ended, and
// their output, with secrets redacted.
package batchjob
