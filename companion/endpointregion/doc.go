// Package endpointregion reconciles EndpointRegions: it puts endpoints of Keystone's catalog, which K-ORC makes without a region, into
// one, and back into it if someone takes them out. Nothing is remembered: every pass compares, and changes what differs by one request
// that may be repeated.
package endpointregion
