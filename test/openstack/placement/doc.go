// Package placement tests a real Placement.
package placement
