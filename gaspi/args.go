package gaspi

import "github.com/mcchk/mcchk/core"

// Names of arguments (docs/trace-format.md).
var (
	argBase               = core.NewArgName("base")
	argBufferReceive      = core.NewArgName("buffer_receive")
	argBufferSend         = core.NewArgName("buffer_send")
	argComparator         = core.NewArgName("comparator")
	argFirstID            = core.NewArgName("first_id")
	argGroup              = core.NewArgName("group")
	argNotificationID     = core.NewArgName("notification_id")
	argNotificationValue  = core.NewArgName("notification_value")
	argNum                = core.NewArgName("num")
	argOffset             = core.NewArgName("offset")
	argOffsetLocal        = core.NewArgName("offset_local")
	argOffsetRemote       = core.NewArgName("offset_remote")
	argOld                = core.NewArgName("old")
	argOldNotificationVal = core.NewArgName("old_notification_val")
	argQueue              = core.NewArgName("queue")
	argRank               = core.NewArgName("rank")
	argResult             = core.NewArgName("result")
	argSegment            = core.NewArgName("segment_id")
	argSegmentLocal       = core.NewArgName("segment_id_local")
	argSegmentNotify      = core.NewArgName("segment_id_notification")
	argSegmentRemote      = core.NewArgName("segment_id_remote")
	argSize               = core.NewArgName("size")
	argValAdd             = core.NewArgName("val_add")
	argValNew             = core.NewArgName("val_new")
	argValOld             = core.NewArgName("val_old")
)
