%% Measures what the command line names, and prints a line for each figure: its name and its value; times are in nanoseconds.
-module(peers).
-export([main/1, other_node/0, print/2, payload/1, percentiles/1, processor_time/1, resident_bytes/0]).

main([Measurement | Arguments]) ->
    try
        (list_to_atom(Measurement)):measure(Arguments),
        halt(0)
    catch Class:Reason:Stack ->
        io:format(standard_error, "~p: ~p~n~p~n", [Class, Reason, Stack]),
        halt(1)
    end.

%% Starts the second node, which ends with this one: with its standard input.
other_node() ->
    Flags = ["-epmd_module", "file_epmd", "-start_epmd", "false", "-pa", filename:dirname(code:which(?MODULE)),
             "-setcookie", atom_to_list(erlang:get_cookie()), "-kernel", "inet_dist_use_interface", "{127,0,0,1}"],
    {ok, _, Node} = peer:start_link(#{name => other, host => "127.0.0.1", longnames => true, connection => standard_io, args => Flags}),
    true = net_kernel:connect_node(Node),
    Node.

print(Name, Value) -> io:format("~s ~s~n", [Name, if is_float(Value) -> float_to_list(Value, [{decimals, 3}]);
                                                   true -> integer_to_list(Value) end]).

payload(Size) -> binary:copy(<<"x">>, Size).

percentiles(Times) ->
    Sorted = lists:sort(Times),
    print("p50", lists:nth(length(Sorted) div 2 + 1, Sorted)),
    print("p99", lists:nth(length(Sorted) * 99 div 100 + 1, Sorted)).

%% The processor time that the nodes have used, in nanoseconds.
processor_time(Nodes) ->
    lists:sum([element(1, erpc:call(Node, erlang, statistics, [runtime])) || Node <- Nodes]) * 1000000.

resident_bytes() ->
    {ok, Text} = file:read_file("/proc/self/statm"),
    [_, Resident | _] = string:lexemes(Text, " "),
    binary_to_integer(Resident) * 4096.
