(* Threads of Lwt that pass a token around a ring of Lwt_mvar. *)
open Lwt.Syntax

let rec pass_on last number own next =
  let* token = Lwt_mvar.take own in
  if token = 0 then Lwt_mvar.put last number
  else
    let* () = Lwt_mvar.put next (token - 1) in
    pass_on last number own next

let () =
  let threads, hops = Arguments.(threads, hops) in
  let slots = Array.init threads (fun _ -> Lwt_mvar.create_empty ()) in
  let last = Lwt_mvar.create_empty () in
  Array.iteri (fun i own -> Lwt.async (fun () -> pass_on last (i + 1) own slots.((i + 1) mod threads))) slots;
  let answer =
    let* () = Lwt_mvar.put slots.(0) hops in
    Lwt_mvar.take last
  in
  Printf.printf "%d\n" (Lwt_main.run answer)
