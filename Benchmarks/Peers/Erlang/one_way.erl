%% Messages of one sender without replies: "send" to a plain process, "cast" to a gen_server; the sender is local or on another node.
-module(one_way).
-export([measure/1, sent/4, receive_notes/1]).

measure([Place, Kind, Milliseconds | Sizes]) ->
    Receiver = case Kind of
        "cast" -> {ok, Server} = echo_server:start_link(), Server;
        "send" -> spawn_link(?MODULE, receive_notes, [0])
    end,
    Node = case Place of "local" -> node(); "remote" -> peers:other_node() end,
    erpc:call(Node, ?MODULE, sent, [Kind, Receiver, 64, 200]),
    [begin
        {Notes, Time} = erpc:call(Node, ?MODULE, sent, [Kind, Receiver, list_to_integer(Size), list_to_integer(Milliseconds)]),
        peers:print(["rate/", Size], Notes * 1.0e9 / Time),
        peers:print(["message/", Size], Time / Notes)
     end || Size <- Sizes].

%% How many messages were handled, and the nanoseconds from the first to the last.
sent(Kind, Receiver, Size, Milliseconds) ->
    Payload = peers:payload(Size),
    Start = erlang:monotonic_time(),
    send(Kind, Receiver, Payload, Start + erlang:convert_time_unit(Milliseconds, millisecond, native)),
    Notes = case Kind of
        "cast" -> gen_server:call(Receiver, notes, infinity);
        "send" -> Receiver ! {notes, self()}, receive {notes, Count} -> Count end
    end,
    {Notes, erlang:convert_time_unit(erlang:monotonic_time() - Start, native, nanosecond)}.

send(Kind, Receiver, Payload, End) ->
    send(Kind, Receiver, Payload, End, 64),
    case erlang:monotonic_time() < End of
        true -> send(Kind, Receiver, Payload, End);
        false -> ok
    end.

send(_, _, _, _, 0) -> ok;
send("cast", Receiver, Payload, End, Left) -> gen_server:cast(Receiver, {note, Payload}), send("cast", Receiver, Payload, End, Left - 1);
send("send", Receiver, Payload, End, Left) -> Receiver ! {note, Payload}, send("send", Receiver, Payload, End, Left - 1).

receive_notes(Count) ->
    receive
        {note, _Payload} -> receive_notes(Count + 1);
        {notes, From} -> From ! {notes, Count}, receive_notes(0)
    end.
