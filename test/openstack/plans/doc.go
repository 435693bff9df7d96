// Package plans compares the plans of edits with their measured effects: it edits the claim of a real cloud while clients use its services.
package plans
