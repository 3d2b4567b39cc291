(* System threads that pass a token around, each waiting at a condition variable of its own. *)

type mailbox = { mutex : Mutex.t; filled : Condition.t; mutable token : int option }

let create () = { mutex = Mutex.create (); filled = Condition.create (); token = None }

let put mailbox token =
  Mutex.lock mailbox.mutex;
  mailbox.token <- Some token;
  Mutex.unlock mailbox.mutex;
  Condition.signal mailbox.filled

let rec wait_for_token mailbox =
  match mailbox.token with
  | Some token -> token
  | None ->
    Condition.wait mailbox.filled mailbox.mutex;
    wait_for_token mailbox

let take mailbox =
  Mutex.lock mailbox.mutex;
  let token = wait_for_token mailbox in
  mailbox.token <- None;
  Mutex.unlock mailbox.mutex;
  token

let rec pass_on (last, number, own, next) =
  let token = take own in
  if token = 0 then put last number
  else begin
    put next (token - 1);
    pass_on (last, number, own, next)
  end

let () =
  let threads, hops = Arguments.(threads, hops) in
  let mailboxes = Array.init threads (fun _ -> create ()) in
  let last = create () in
  Array.iteri
    (fun i own -> ignore (Thread.create pass_on (last, i + 1, own, mailboxes.((i + 1) mod threads))))
    mailboxes;
  put mailboxes.(0) hops;
  Printf.printf "%d\n%!" (take last);
  exit 0
