%% Processes that pass a token around a ring by message.
-module(ring).
-export([main/0]).

main() ->
    case [whole_number(Text) || Text <- init:get_plain_arguments()] of
        [Threads, Hops] when is_integer(Threads), Threads >= 1, is_integer(Hops) ->
            io:format("~b~n", [run(Threads, Hops)]),
            halt(0);
        _ ->
            io:put_chars(standard_error,
                "ring: needs THREADS (1 or more) and HOPS (0 or more), whole numbers of at most 15 digits\n"),
            halt(2)
    end.

whole_number(Text) ->
    case re:run(Text, "\\A[0-9]{1,15}\\z", [{capture, none}]) of
        match -> list_to_integer(Text);
        nomatch -> none
    end.

%% Each process knows the one after it, so they are made from the last to the first. The last is told of the first.
run(Threads, Hops) ->
    Main = self(),
    Last = spawn(fun() -> receive {next, Next} -> pass_on(Main, Threads, Next) end end),
    First = lists:foldl(
        fun(Number, Next) -> spawn(fun() -> pass_on(Main, Number, Next) end) end,
        Last, lists:seq(Threads - 1, 1, -1)),
    Last ! {next, First},
    First ! {token, Hops},
    receive {last, Number} -> Number end.

pass_on(Main, Number, Next) ->
    receive
        {token, 0} ->
            Main ! {last, Number};
        {token, Token} ->
            Next ! {token, Token - 1},
            pass_on(Main, Number, Next)
    end.
