package trace

// Function returns the arguments of an MPI function as a tracer records them,
// for traces written by hand or by a generator. The names are those of the C
// bindings of the MPI standard 4.1; ticket, model and done are observations
// (docs/trace-format.md, "function definition").
func Function(name string) ([]Arg, bool) {
	text, ok := mpiFunctions[name]
	if !ok {
		return nil, false
	}
	args, err := parseArgs(text)
	return args, err == nil
}

// Functions that share their arguments.
const (
	putArgs     = "origin_addr:p,origin_count:i,origin_datatype:t,target_rank:r,target_disp:i,target_count:i,target_datatype:t"
	getAccArgs  = "origin_addr:p,origin_count:i,origin_datatype:t,result_addr:p,result_count:i,result_datatype:t,target_rank:r,target_disp:i,target_count:i,target_datatype:t,op:o,win:w"
	wordArgs    = ",number:i,operand:i" // of operations on one word
	wordsArgs   = wordArgs + ",operands:I"
	sendArgs    = "buf:p,count:i,datatype:t,dest:r,tag:g,comm:c"
	recvArgs    = "buf:p,count:i,datatype:t,source:r,tag:g,comm:c"
	reduceArgs  = "sendbuf:p,recvbuf:p,count:i,datatype:t,op:o"
	gatherArgs  = "sendbuf:p,sendcount:i,sendtype:t,recvbuf:p,recvcount:i,recvtype:t"
	gathervArgs = "sendbuf:p,sendcount:i,sendtype:t,recvbuf:p,recvcounts:I,displs:I,recvtype:t"
	sendrecv    = "sendbuf:p,sendcount:i,sendtype:t,dest:r,sendtag:g,recvbuf:p,recvcount:i,recvtype:t,source:r,recvtag:g,comm:c,status:S"
	vecArgs     = "sendbuf:p,sendcounts:I,sdispls:I,sendtype:t,recvbuf:p,recvcounts:I,rdispls:I,recvtype:t,comm:c"
	vecwArgs    = "sendbuf:p,sendcounts:I,sdispls:I,sendtypes:T,recvbuf:p,recvcounts:I,rdispls:I,recvtypes:T,comm:c"
)

// mpiFunctions is the table of the functions that Function knows. It is never
// changed.
var mpiFunctions = map[string]string{
	"MPI_Init":        "provided:i",
	"MPI_Init_thread": "required:i,provided:i",
	"MPI_Finalize":    "",
	"MPI_Abort":       "comm:c,errorcode:i",

	// Windows.
	"MPI_Win_create":          "base:p,size:i,disp_unit:i,comm:c,win:w,model:i,accumulate_ops:i,accumulate_ordering:i",
	"MPI_Win_allocate":        "size:i,disp_unit:i,comm:c,baseptr:p,win:w,model:i,accumulate_ops:i,accumulate_ordering:i",
	"MPI_Win_allocate_shared": "size:i,disp_unit:i,comm:c,baseptr:p,win:w,model:i,accumulate_ops:i,accumulate_ordering:i",
	"MPI_Win_shared_query":    "win:w,rank:r,size:i,disp_unit:i,baseptr:p",
	"MPI_Win_create_dynamic":  "comm:c,win:w,model:i,accumulate_ops:i,accumulate_ordering:i",
	"MPI_Win_attach":          "win:w,base:p,size:i",
	"MPI_Win_detach":          "win:w,base:p",
	"MPI_Win_free":            "win:w",
	"mcchk_Lock_ticket":       "rank:r,win:w,ticket:i",
	"mcchk_Shared_segment":    "win:w,rank:r,base:p,size:i",
	"mcchk_Fetched":           "numbers:I,values:I",
	"mcchk_Atomic":            "addr:p,size:i,how:i,order:i,operand:i,found:i",
	"mcchk_Atomic_fence":      "order:i",
	"mcchk_Win_info":          "win:w,accumulate_ops:i,accumulate_ordering:i",
	"mcchk_Memory_gone":       "base:p,size:i,why:i",
	"MPI_Win_set_info":        "win:w",
	"MPI_Win_set_name":        "win:w,win_name:I",
	"MPI_Win_fence":           "assert:a,win:w",
	"MPI_Win_lock":            "lock_type:l,rank:r,assert:a,win:w,ticket:i",
	"MPI_Win_unlock":          "rank:r,win:w",
	"MPI_Win_lock_all":        "assert:a,win:w",
	"MPI_Win_unlock_all":      "win:w",
	"MPI_Win_flush":           "rank:r,win:w",
	"MPI_Win_flush_all":       "win:w",
	"MPI_Win_flush_local":     "rank:r,win:w",
	"MPI_Win_flush_local_all": "win:w",
	"MPI_Win_sync":            "win:w",
	"MPI_Win_post":            "group:G,assert:a,win:w",
	"MPI_Win_start":           "group:G,assert:a,win:w",
	"MPI_Win_complete":        "win:w",
	"MPI_Win_wait":            "win:w",
	"MPI_Win_test":            "win:w,flag:i",

	// One-sided operations.
	"MPI_Put":              putArgs + ",win:w",
	"MPI_Get":              putArgs + ",win:w",
	"MPI_Rput":             putArgs + ",win:w,request:q",
	"MPI_Rget":             putArgs + ",win:w,request:q",
	"MPI_Accumulate":       putArgs + ",op:o,win:w" + wordsArgs,
	"MPI_Raccumulate":      putArgs + ",op:o,win:w,request:q" + wordsArgs,
	"MPI_Get_accumulate":   getAccArgs + wordsArgs,
	"MPI_Rget_accumulate":  getAccArgs + ",request:q" + wordsArgs,
	"MPI_Fetch_and_op":     "origin_addr:p,result_addr:p,datatype:t,target_rank:r,target_disp:i,op:o,win:w" + wordArgs,
	"MPI_Compare_and_swap": "origin_addr:p,compare_addr:p,result_addr:p,datatype:t,target_rank:r,target_disp:i,win:w" + wordArgs + ",compare:i",

	// Point to point.
	"MPI_Send":     sendArgs,
	"MPI_Ssend":    sendArgs,
	"MPI_Bsend":    sendArgs,
	"MPI_Rsend":    sendArgs,
	"MPI_Isend":    sendArgs + ",request:q",
	"MPI_Issend":   sendArgs + ",request:q",
	"MPI_Recv":     recvArgs + ",status:S",
	"MPI_Irecv":    recvArgs + ",request:q",
	"MPI_Sendrecv": sendrecv,

	// Completion.
	"MPI_Wait":     "request:q,status:S,done:i",
	"MPI_Waitall":  "requests:Q,statuses:S",
	"MPI_Waitany":  "requests:Q,index:i,status:S",
	"MPI_Waitsome": "requests:Q,indices:I,statuses:S",
	"MPI_Test":     "request:q,flag:i,status:S",
	"MPI_Testall":  "requests:Q,flag:i,statuses:S",
	"MPI_Testany":  "requests:Q,index:i,flag:i,status:S",
	"MPI_Testsome": "requests:Q,indices:I,statuses:S",

	// Blocking collectives.
	"MPI_Barrier":              "comm:c",
	"MPI_Bcast":                "buffer:p,count:i,datatype:t,root:r,comm:c",
	"MPI_Reduce":               reduceArgs + ",root:r,comm:c",
	"MPI_Allreduce":            reduceArgs + ",comm:c",
	"MPI_Scan":                 reduceArgs + ",comm:c",
	"MPI_Exscan":               reduceArgs + ",comm:c",
	"MPI_Reduce_scatter":       "sendbuf:p,recvbuf:p,recvcounts:I,datatype:t,op:o,comm:c",
	"MPI_Reduce_scatter_block": "sendbuf:p,recvbuf:p,recvcount:i,datatype:t,op:o,comm:c",
	"MPI_Gather":               gatherArgs + ",root:r,comm:c",
	"MPI_Gatherv":              gathervArgs + ",root:r,comm:c",
	"MPI_Scatter":              gatherArgs + ",root:r,comm:c",
	"MPI_Scatterv":             "sendbuf:p,sendcounts:I,displs:I,sendtype:t,recvbuf:p,recvcount:i,recvtype:t,root:r,comm:c",
	"MPI_Allgather":            gatherArgs + ",comm:c",
	"MPI_Allgatherv":           gathervArgs + ",comm:c",
	"MPI_Alltoall":             gatherArgs + ",comm:c",
	"MPI_Alltoallv":            vecArgs,
	"MPI_Alltoallw":            vecwArgs,

	// Memory.
	"MPI_Alloc_mem":       "size:i,baseptr:p",
	"MPI_Free_mem":        "base:p",
	"MPI_Buffer_attach":   "buffer:p,size:i",
	"MPI_Buffer_detach":   "buffer_addr:p,size:i",
	"MPI_Pack":            "inbuf:p,incount:i,datatype:t,outbuf:p,outsize:i,position:i,comm:c,packed_at:p,packed:i",
	"MPI_Unpack":          "inbuf:p,insize:i,position:i,outbuf:p,outcount:i,datatype:t,comm:c,packed_at:p,packed:i",
	"MPI_Pack_external":   "inbuf:p,incount:i,datatype:t,outbuf:p,outsize:i,position:i,packed_at:p,packed:i",
	"MPI_Unpack_external": "inbuf:p,insize:i,position:i,outbuf:p,outcount:i,datatype:t,packed_at:p,packed:i",

	// Communicators and datatypes.
	"mcchk_Threads": "kind:i",
	"mcchk_Mapped":  "host:i,device:i,file:i,writes:i,twice:i",

	// Strands of a process, and what orders them.
	"mcchk_Strand":       "strand:i",
	"mcchk_Strand_end":   "strand:i",
	"mcchk_Strand_waits": "object:i,strands:i,releases:i",
	"mcchk_Will_release": "object:i",
	"mcchk_Release":      "object:i",
	"mcchk_Fork":         "object:i",
	"mcchk_Acquire":      "object:i",
	"mcchk_Object_end":   "object:i",

	"mcchk_Neighbors": "comm:c,sources:I,destinations:I",

	// Declared by the program.
	"mcchk_signal":         "win:w,rank:r,resource:i,count:i",
	"mcchk_wait":           "win:w,rank:r,resource:i,count:i",
	"mcchk_signal_process": "comm:c,dest:r,tag:g",
	"mcchk_wait_process":   "comm:c,source:r,tag:g",
	"MPI_Comm_dup":         "comm:c,newcomm:c",
	"MPI_Comm_split":       "comm:c,color:i,key:i,newcomm:c",
	"MPI_Comm_create":      "comm:c,group:G,newcomm:c",
	"MPI_Comm_free":        "comm:c",
	"MPI_Type_contiguous":  "count:i,oldtype:t,newtype:t",
	"MPI_Type_vector":      "count:i,blocklength:i,stride:i,oldtype:t,newtype:t",
	"MPI_Type_commit":      "datatype:t",
	"MPI_Type_free":        "datatype:t",
}
