%% Children of a supervisor, each a gen_server, started one after the other; then stopped likewise.
%% "simple_one_for_one" has the children that are started on demand, "one_for_one" those with an id each.
-module(starts).
-behaviour(supervisor).
-export([measure/1, init/1]).

init(Strategy) ->
    Child = #{id => child, start => {echo_server, start_link, []}, restart => permanent, shutdown => 5000},
    {ok, {#{strategy => Strategy, intensity => 5, period => 60}, case Strategy of simple_one_for_one -> [Child]; one_for_one -> [] end}}.

measure([Strategy, Number]) ->
    Kind = list_to_atom(Strategy),
    Count = list_to_integer(Number),
    {ok, Supervisor} = supervisor:start_link(?MODULE, Kind),
    stop(Supervisor, Kind, start(Supervisor, Kind, 100)),
    Resident = peers:resident_bytes(),
    Begin = erlang:monotonic_time(nanosecond),
    Children = start(Supervisor, Kind, Count),
    Started = erlang:monotonic_time(nanosecond),
    peers:print("starts", Count * 1.0e9 / (Started - Begin)),
    peers:print("start", (Started - Begin) / Count),
    peers:print("time", Started - Begin),
    peers:print("bytes", (peers:resident_bytes() - Resident) / Count),
    StopBegin = erlang:monotonic_time(nanosecond),
    stop(Supervisor, Kind, Children),
    peers:print("stops", Count * 1.0e9 / (erlang:monotonic_time(nanosecond) - StopBegin)).

start(Supervisor, simple_one_for_one, Count) ->
    [begin {ok, Child} = supervisor:start_child(Supervisor, []), Child end || _ <- lists:seq(1, Count)];
start(Supervisor, one_for_one, Count) ->
    [begin {ok, _} = supervisor:start_child(Supervisor, specification(Id)), Id end || Id <- lists:seq(1, Count)].

specification(Id) -> #{id => Id, start => {echo_server, start_link, []}, restart => permanent, shutdown => 5000}.

stop(Supervisor, simple_one_for_one, Children) -> [ok = supervisor:terminate_child(Supervisor, Child) || Child <- Children];
stop(Supervisor, one_for_one, Ids) ->
    [begin ok = supervisor:terminate_child(Supervisor, Id), ok = supervisor:delete_child(Supervisor, Id) end || Id <- Ids].
