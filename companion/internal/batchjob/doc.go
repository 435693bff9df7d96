// Package batchjob makes and reads Jobs of one pod that run once: whether they may run, whether and how they ended, and what they have
// written, without what looks like a secret.
package batchjob
