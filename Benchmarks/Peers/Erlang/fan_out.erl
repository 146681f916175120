%% Events of one process to many: each receiver gets every event.
-module(fan_out).
-export([measure/1, receive_events/2]).

-define(BURST, 100).

measure([Milliseconds | Numbers]) -> [measure(list_to_integer(Number), list_to_integer(Milliseconds)) || Number <- Numbers].

measure(Number, Milliseconds) ->
    Receivers = [spawn_link(?MODULE, receive_events, [self(), 0]) || _ <- lists:seq(1, Number)],
    Start = erlang:monotonic_time(nanosecond),
    Bursts = bursts(Receivers, Start + Milliseconds * 1000000, 0),
    Time = erlang:monotonic_time(nanosecond) - Start,
    peers:print(["rate/", integer_to_list(Number)], Bursts * ?BURST * Number * 1.0e9 / Time).

bursts(Receivers, End, Count) ->
    [[Receiver ! {event, Event} || Receiver <- Receivers] || Event <- lists:seq(1, ?BURST)],
    [receive done -> ok end || _ <- Receivers],
    case erlang:monotonic_time(nanosecond) < End of
        true -> bursts(Receivers, End, Count + 1);
        false -> Count + 1
    end.

receive_events(Sender, ?BURST) -> Sender ! done, receive_events(Sender, 0);
receive_events(Sender, Count) -> receive {event, _} -> receive_events(Sender, Count + 1) end.
