// Package store tests the project's use of External Secrets with the released version and a real store: a Vault core as
// a process, and an API server without nodes. It runs with:
//
//	go test -tags platform ./test/store
package store
