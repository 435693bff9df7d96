// Package store tests what we ask of External Secrets with the released one and a real store behind it: a Vault core, as a process, and an
// API server without nodes. It runs with:
//
//	go test -tags platform ./test/store
package store
