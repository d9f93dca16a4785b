-- Nobody may call these until it is granted.
REVOKE ALL ON FUNCTION millrace.enqueue, millrace.enqueue_row, millrace.finish, millrace.fence,
  millrace.raise_fence, millrace.read_inbox, millrace.schedule, millrace.unschedule,
  millrace.ask_of_schedule
  FROM PUBLIC;
