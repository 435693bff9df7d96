// Package batchjob runs Jobs with one pod that runs once. It builds and reads such Jobs: whether they may start, whether and how
// they ended, and their output, with secrets redacted.
//
// It also contains the life cycle of the Jobs of an object that runs one Job at a time (Runner), which ensures that nothing runs
// without a record, even after a loss of state or with a delayed leader:
//
//	StartRun   creates the Job of the next run suspended, when its name is free and no pod of an earlier Job may still write
//	AdoptJob   records the run with the UID of the Job in the status
//	FinishRun  releases the Job, in exactly the version that was read between two reads of the same record (Observe), so that a
//	           delayed leader cannot release a Job whose result another leader has recorded; then records the result (EndRun)
//
// A record without a Job means that the Job may have run: the run is lost, and the next one is started.
package batchjob
