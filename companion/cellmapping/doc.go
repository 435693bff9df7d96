// Package cellmapping reconciles CellMappings: it registers a cell in Nova, and maps the hypervisors that register in the
// cell.
//
// Nova stores its cells in its API database, which is written only by nova-manage. A second call of nova-manage cell_v2
// create_cell creates a second cell and exits with 0: it compares the stored addresses, with credentials filled in, with the
// template that it is given, so they are never equal. So the following holds, even after a loss of state or with a delayed
// leader:
//
//	One Job at a time, for all CellMappings of a Nova: all Jobs have the same name, so the API server accepts only one. A CellMapping
//	that needs the next Job deletes a finished one, once its owner has recorded the result.
//	Every change directly follows a list of the cells. That list was started when the previous change had ended without
//	remaining pods, so it includes the effect of that change.
//	Nothing runs without a record in status.run, and a lost Job may have run: the cells are listed again. See package batchjob.
//
// Life cycle of a cell:
//
//	list → missing: create it → list → present
//	     → present, but other settings were applied: update it → list
//	     → several with its name: nothing is changed until an administrator has removed all except one
//
// The cells are listed again when the spec has changed, when the controller has started, and before hosts are searched. This
// detects restored databases. A listed cell is compared as a whole (status.listedHash): a cell whose address was changed by
// others is updated again.
//
// A search for hosts starts when Nova's API lists a hypervisor that is mapped to no cell, according to status.hosts of all
// CellMappings, or no longer lists one that is mapped to this cell. The API does not return the cell of a hypervisor, so the
// cells are searched in turn, until one contains it. A search is recorded before it starts and ends with a list of the hosts,
// however often one of its Jobs fails. A search without a result is repeated with an increasing delay, and immediately when
// there is another host. The hosts are also listed every hour, and when the cell was changed by others: a host may have been
// removed and added again between two queries, or a backup may have been restored. The list includes the version of the
// oldest nova-compute in the cell, which determines the RPC version of conductors and APIs.
//
// The cell remains in Nova when a CellMapping is deleted, because it contains servers; nova-manage cell_v2 delete_cell must
// be run by an administrator.
package cellmapping
