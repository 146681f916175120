%% Asks of many processes at a time of one gen_server, which is here; the askers are local or on another node.
-module(asks).
-export([measure/1, asked/3]).

measure([Place, Milliseconds | Numbers]) ->
    {ok, Server} = echo_server:start_link(),
    Node = case Place of "local" -> node(); "remote" -> peers:other_node() end,
    Nodes = lists:usort([node(), Node]),
    erpc:call(Node, ?MODULE, asked, [Server, 16, 200]),
    [begin
        Before = peers:processor_time(Nodes),
        {Asks, Time} = erpc:call(Node, ?MODULE, asked, [Server, list_to_integer(Number), list_to_integer(Milliseconds)]),
        peers:print(["rate/", Number], Asks * 1.0e9 / Time),
        peers:print(["round/", Number], list_to_integer(Number) * Time / Asks),
        peers:print(["processor/", Number], (peers:processor_time(Nodes) - Before) / Asks)
     end || Number <- Numbers].

%% How many asks were answered, and in how many nanoseconds.
asked(Server, Number, Milliseconds) ->
    Payload = peers:payload(64),
    Start = erlang:monotonic_time(),
    End = Start + erlang:convert_time_unit(Milliseconds, millisecond, native),
    Askers = [spawn_monitor(fun() -> exit({asked, ask(Server, Payload, End, 0)}) end) || _ <- lists:seq(1, Number)],
    Asks = lists:sum([receive {'DOWN', Monitor, process, Asker, {asked, Count}} -> Count end || {Asker, Monitor} <- Askers]),
    {Asks, erlang:convert_time_unit(erlang:monotonic_time() - Start, native, nanosecond)}.

%% Looks at the clock after each sixteenth ask.
ask(Server, Payload, End, Count) ->
    case Count rem 16 =/= 0 orelse erlang:monotonic_time() < End of
        true -> Payload = gen_server:call(Server, {echo, Payload}, infinity), ask(Server, Payload, End, Count + 1);
        false -> Count
    end.
