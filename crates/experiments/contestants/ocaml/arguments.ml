(* The two arguments of every program in this folder: THREADS HOPS. *)

let whole_number text =
  let digit = function '0' .. '9' -> true | _ -> false in
  if String.length text >= 1 && String.length text <= 15 && String.for_all digit text
  then Some (int_of_string text)
  else None

let threads, hops =
  match Array.map whole_number Sys.argv with
  | [| _; Some threads; Some hops |] when threads >= 1 -> threads, hops
  | _ ->
    prerr_endline "ring: needs THREADS (1 or more) and HOPS (0 or more), whole numbers of at most 15 digits";
    exit 2
