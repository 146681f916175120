%% Asks one after the other: local or remote, of a gen_server or of a plain process.
-module(round_trips).
-export([measure/1, times/3, echo/0]).

measure([Place, Kind, Count]) ->
    Responder = case Kind of
        "call" -> {ok, Server} = echo_server:start_link(), Server;
        "process" -> spawn_link(fun echo/0)
    end,
    Node = case Place of "local" -> node(); "remote" -> peers:other_node() end,
    erpc:call(Node, ?MODULE, times, [Kind, Responder, 2000]),
    peers:percentiles(erpc:call(Node, ?MODULE, times, [Kind, Responder, list_to_integer(Count)])).

times(Kind, Responder, Count) ->
    Payload = peers:payload(64),
    [time(Kind, Responder, Payload) || _ <- lists:seq(1, Count)].

time("call", Server, Payload) ->
    Start = erlang:monotonic_time(nanosecond),
    Payload = gen_server:call(Server, {echo, Payload}),
    erlang:monotonic_time(nanosecond) - Start;
time("process", Process, Payload) ->
    Start = erlang:monotonic_time(nanosecond),
    Process ! {self(), Payload},
    receive Payload -> ok end,
    erlang:monotonic_time(nanosecond) - Start.

echo() -> receive {From, Payload} -> From ! Payload, echo() end.
