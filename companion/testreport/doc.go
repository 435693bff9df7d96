// Package testreport reconciles TestReports: it reads the result of the last Job of a CronJob that runs tests, and records
// it, so that the result is available after the Job is deleted.
package testreport
