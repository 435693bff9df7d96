// Package heat tests a real Heat: stacks, signals of servers, and its upgrade.
package heat
