// Package tempest runs Tempest in clouds: the claim's own tests, smoke tests, and suites.
package tempest
