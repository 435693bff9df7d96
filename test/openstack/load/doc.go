// Package load tests requests that are slow, large or long through real proxies, while pods and nodes are replaced.
package load
