// Package testreport reconciles TestReports: it reads how the last Job of a CronJob that runs tests has ended, and records it, so that it
// is known when the Job is gone.
package testreport
