// Package endpointregion reconciles EndpointRegions: it sets the region of endpoints in Keystone's catalog, which K-ORC
// creates without a region, and sets it again if it is removed. It is stateless: each pass compares, and corrects a
// difference with one idempotent request.
package endpointregion
