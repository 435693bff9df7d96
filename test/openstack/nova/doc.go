// Package nova tests a real Nova with cells and fake hypervisors.
package nova
