// Package engine groups the packages that all composition functions are built from: handling of a request (function), observed state
// (observe), desired objects (compose), readiness (ready) and the response (respond). It contains nothing about specific OpenStack
// services or composite resources.
package engine
