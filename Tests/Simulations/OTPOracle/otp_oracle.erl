%% Runs scenarios on OTP's own supervisor, and tells step by step what it does.
%%
%% One line of standard input is a command, whose words are separated by spaces; one line of standard output is the course of a step. The
%% process that is registered as `driver' has a normal priority and all others a high one, on one scheduler: whenever the driver runs, the
%% tree is at rest.
-module(otp_oracle).
-behaviour(supervisor).
-export([run/0, init/1, start_life/1, start_idle/0, log/2]).

run() ->
    register(driver, self()),
    process_flag(trap_exit, true),
    %% What a supervisor reports is taken from its log, in its own process.
    ok = logger:set_primary_config(level, error),
    %% Reports of crashes ask the linked processes for their state, and so wait for the driver.
    ok = logger:set_module_level([proc_lib, gen_server], none),
    _ = logger:remove_handler(default),
    ok = logger:add_handler(?MODULE, ?MODULE, #{}),
    ets:new(?MODULE, [named_table, public]),
    serve(open_port({fd, 0, 1}, [binary, eof, {line, 1000000}]), fresh(), [], []).

log(#{msg := {report, #{label := {supervisor, shutdown}, report := Report}}}, _Config) ->
    Group = get(group),
    case lists:keyfind(reason, 1, Report) of
        {reason, reached_max_restart_intensity} when Group =/= undefined ->
            {offender, Offender} = lists:keyfind(offender, 1, Report),
            {id, Slot} = lists:keyfind(id, 1, Offender),
            tell("g", {Group, Slot});
        _ -> ok
    end;
log(_Event, _Config) -> ok.

%% -- Commands

%% Each life is known by its process: lives: its place and its supervisor. doomed: supervisors that were killed, and those below them.
fresh() -> #{sups => #{}, groups => #{}, places => #{}, lives => #{}, doomed => #{}, tokens => [], orphans => []}.

serve(Port, State, Burst, Lines) ->
    receive
        {Port, {data, {eol, Line}}} ->
            case binary:split(Line, <<" ">>, [global]) of
                [<<"scenario">>] ->
                    ets:delete_all_objects(?MODULE),
                    serve(Port, fresh(), [], []);
                [<<"group">>, G | Flags] ->
                    ets:insert(?MODULE, [{{flags, number(G)}, flags(Flags)}, {{has, number(G)}, []}]),
                    serve(Port, State, Burst, Lines);
                [<<"place">>, G, S, Hosted, Hung] ->
                    ets:insert(?MODULE, {{place, {number(G), number(S)}}, number(Hosted), Hung =:= <<"true">>}),
                    serve(Port, State, Burst, Lines);
                [<<"has">>, G, S | Rules] ->
                    Place = {number(G), number(S)},
                    ets:insert(?MODULE, {{has, number(G)}, has(number(G)) ++ [specification(Place, Rules)]}),
                    serve(Port, State, Burst, Lines);
                [<<"go">>] ->
                    {Course, Next} = burst(lists:reverse(Burst), State),
                    serve(Port, Next, [], [Lines, Course, $\n]);
                [<<"done">>] ->
                    {Course, Next} = burst([[<<"shutdown">>, <<"0">>]], State),
                    port_command(Port, [Lines, Course, "\n.\n"]),
                    serve(Port, Next, [], []);
                [<<"window">>, Number, Strategy, Intensity, Period | Ends] ->
                    Driver = self(),
                    spawn_opt(
                        fun() -> window(Driver, Number, flags([Strategy, Intensity, Period, <<"never">>]), Ends) end,
                        [{priority, high}]
                    ),
                    serve(Port, State, [Number | Burst], Lines);
                [<<"windows">>] ->
                    port_command(Port, [windows(Burst), ".\n"]),
                    serve(Port, State, [], []);
                Command ->
                    serve(Port, State, [Command | Burst], Lines)
            end;
        {Port, eof} -> halt(0, [{flush, false}])
    end.

burst(Commands, State) ->
    Up = ensure_root(State),
    %% With all its time before it, so that nothing runs before the last command was given.
    erlang:yield(),
    lists:foreach(fun(Command) -> act(Command, Up, length(Commands) =:= 1) end, Commands),
    #{tokens := Tokens, orphans := Orphans} = Rested = rest(Up),
    Course = [lists:join($\s, lists:reverse(Tokens)), " | ", lists:join($\s, lists:sort(Orphans)), " | ", tables(Rested)],
    {Course, Rested#{tokens := [], orphans := [], doomed := #{}}}.

ensure_root(#{sups := #{0 := _}} = State) -> State;
ensure_root(State) ->
    self() ! {token, "u"},
    case start_supervisor(0) of
        {ok, Pid} -> self() ! {ready, root, Pid, none};
        {error, _} -> self() ! {token, "X"}
    end,
    rest(State).

start_supervisor(Group) ->
    %% What supervisor:start_link/2 does, with a priority.
    gen_server:start_link(supervisor, {self, ?MODULE, Group}, [{spawn_opt, [{priority, high}]}]).

act([<<"plan">>, G, S, Starts], _State, _) ->
    ets:insert(?MODULE, {{plan, {number(G), number(S)}}, binary_to_list(Starts)});
act([<<"end">>, G, S, Reason], #{places := Places}, _) ->
    case maps:find({number(G), number(S)}, Places) of
        {ok, Pid} when Reason =:= <<"killed">> -> exit(Pid, kill);
        {ok, Pid} -> Pid ! {die, reason(Reason)};
        error -> ok
    end;
act([Kind, G | Words], #{sups := Sups}, IsAlone) ->
    case maps:find(number(G), Sups) of
        {ok, Pid} -> spawn_opt(fun() -> catch request(Kind, number(G), Words, Pid, IsAlone) end, [{priority, high}]);
        error -> ok
    end.

%% -- Requests, each in a process of its own

request(<<"stop">>, _, [S], Pid, _) ->
    supervisor:terminate_child(Pid, number(S));
request(<<"shutdown">>, _, [], Pid, _) ->
    %% What gen_server:stop/3 does, which makes a process of normal priority for it.
    sys:terminate(Pid, shutdown, infinity);
request(<<"start">>, G, [S | Rules], Pid, true) ->
    Place = {G, number(S)},
    case supervisor:start_child(Pid, specification(Place, Rules)) of
        {error, {bad_combination, _}} -> tell("!", Place);
        {error, already_present} -> supervisor:restart_child(Pid, number(S));
        _ -> ok
    end;
request(<<"remove">>, _, [S], Pid, true) ->
    supervisor:terminate_child(Pid, number(S)),
    supervisor:delete_child(Pid, number(S));
request(<<"restart">>, _, [S], Pid, true) ->
    supervisor:terminate_child(Pid, number(S)),
    supervisor:restart_child(Pid, number(S));
%% Requests of several calls, of which none may be handled apart from the others: the supervisor itself makes them.
request(<<"start">>, G, [S | Rules], Pid, false) ->
    Place = {G, number(S)},
    itself(Pid, fun(State) ->
        case call({start_child, specification(Place, Rules)}, State) of
            {{error, {bad_combination, _}}, Next} -> tell("!", Place), Next;
            {{error, already_present}, Next} -> element(2, call({restart_child, number(S)}, Next));
            {_, Next} -> Next
        end
    end);
request(<<"remove">>, _, [S], Pid, false) ->
    itself(Pid, fun(State) ->
        {_, Next} = call({terminate_child, number(S)}, State),
        element(2, call({delete_child, number(S)}, Next))
    end);
request(<<"restart">>, _, [S], Pid, false) ->
    itself(Pid, fun(State) ->
        {_, Next} = call({terminate_child, number(S)}, State),
        element(2, call({restart_child, number(S)}, Next))
    end);
request(<<"policy">>, G, Flags, Pid, _) ->
    itself(Pid, fun(State) ->
        {ok, Next} = changed(G, flags(Flags), [], State),
        Next
    end);
request(<<"specification">>, G, [S | Rules], Pid, _) ->
    Place = {G, number(S)},
    itself(Pid, fun(State) ->
        {Children, _} = call(which_children, State),
        %% All are given anew, since those that aren't would be moved behind.
        Specifications = [present({G, Id}, specification(Place, Rules), State) || {Id, _, _, _} <- lists:reverse(Children)],
        [{_, Flags}] = ets:lookup(?MODULE, {flags_now, G}),
        case lists:keymember(number(S), 1, Children) andalso changed(G, Flags, Specifications, State) of
            false -> State;
            {ok, Next} -> Next;
            {error, _} -> tell("!", Place), State
        end
    end).

itself(Pid, Change) -> sys:replace_state(Pid, Change, infinity).

call(Request, State) ->
    {reply, Reply, Next} = supervisor:handle_call(Request, {self(), none}, State),
    {Reply, Next}.

changed(G, Flags, Specifications, State) ->
    ets:insert(?MODULE, [{{change, G}, Flags, Specifications}]),
    supervisor:code_change(none, State, none).

present({_, Slot}, #{id := Slot} = Changed, _) -> Changed;
present({G, Slot}, _, State) ->
    {{ok, Specification}, _} = call({get_childspec, Slot}, State),
    Specification#{start := {?MODULE, start_life, [{G, Slot}]}}.

%% -- The tree

init({window, Flags, Slots}) ->
    {ok, {Flags, [#{id => Slot, start => {?MODULE, start_idle, []}} || Slot <- Slots]}};
init(Group) ->
    case ets:take(?MODULE, {change, Group}) of
        [{_, Flags, Specifications}] -> {ok, {use(Group, Flags), Specifications}};
        [] ->
            put(group, Group),
            link(whereis(driver)),
            driver ! {supervisor, Group, self()},
            [{_, Flags}] = ets:lookup(?MODULE, {flags, Group}),
            {ok, {use(Group, Flags), has(Group)}}
    end.

use(Group, Flags) ->
    ets:insert(?MODULE, {{flags_now, Group}, Flags}),
    Flags.

start_life(Place) ->
    tell("s", Place),
    [{_, Hosted, IsHung}] = ets:lookup(?MODULE, {place, Place}),
    case will_fail(Place) of
        true ->
            tell("f", Place),
            {error, planned};
        false when Hosted < 0 -> is_ready(Place, {ok, start_leaf(IsHung)});
        false -> is_ready(Place, start_supervisor(Hosted))
    end.

is_ready(Place, {ok, Pid}) ->
    driver ! {ready, Place, Pid, self()},
    {ok, Pid};
is_ready(Place, {error, Reason}) ->
    tell("f", Place),
    {error, Reason}.

will_fail(Place) ->
    case ets:lookup(?MODULE, {plan, Place}) of
        [{_, [Next | Later]}] ->
            ets:insert(?MODULE, {{plan, Place}, Later}),
            Next =:= $0;
        _ -> false
    end.

start_leaf(IsHung) ->
    {Parent, Sign} = {self(), make_ref()},
    Life = fun() ->
        process_flag(trap_exit, true),
        link(whereis(driver)),
        Parent ! {Sign, ready},
        leaf(Parent, IsHung)
    end,
    Pid = spawn_opt(Life, [link, {priority, high}]),
    receive {Sign, ready} -> Pid end.

leaf(Parent, IsHung) ->
    receive
        {die, Reason} -> exit(Reason);
        {'EXIT', Parent, shutdown} when IsHung -> leaf(Parent, IsHung);
        {'EXIT', Parent, Reason} -> exit(Reason);
        _ -> leaf(Parent, IsHung)
    end.

%% -- What happens

tell(Sign, Place) -> driver ! {token, [Sign, name(Place)]}.

%% Lets all others run until none has anything left to do.
rest(State) ->
    erlang:yield(),
    case heard(State, false) of
        {Next, true} -> rest(Next);
        {Next, false} -> Next
    end.

heard(State, HasHeard) ->
    receive
        {token, Token} -> heard(token(Token, State), true);
        {supervisor, Group, Pid} ->
            #{sups := Sups, groups := Groups} = State,
            heard(State#{sups := Sups#{Group => Pid}, groups := Groups#{Pid => Group}}, true);
        {ready, root, Pid, _} ->
            #{lives := Lives} = State,
            heard(token("U", State#{lives := Lives#{Pid => {root, none}}}), true);
        {ready, Place, Pid, Parent} ->
            #{lives := Lives, places := Places} = State,
            Next = State#{lives := Lives#{Pid => {Place, Parent}}, places := Places#{Place => Pid}},
            heard(token(["r", name(Place)], Next), true);
        {'EXIT', Pid, Reason} when is_pid(Pid) -> heard(ended(Pid, Reason, without_group(Pid, State)), true)
    after 0 -> {State, HasHeard}
    end.

token(Token, #{tokens := Tokens} = State) -> State#{tokens := [Token | Tokens]}.

without_group(Pid, #{sups := Sups, groups := Groups} = State) ->
    case maps:take(Pid, Groups) of
        {Group, Others} when map_get(Group, Sups) =:= Pid -> State#{sups := maps:remove(Group, Sups), groups := Others};
        {_, Others} -> State#{groups := Others};
        error -> State
    end.

ended(Pid, Reason, #{lives := Lives, places := Places, orphans := Orphans, doomed := Doomed} = State) ->
    case Lives of
        #{Pid := {Place, Parent}} ->
            IsOrphan = is_doomed(Parent, Lives, Doomed),
            Next = State#{
                places := case Places of #{Place := Pid} -> maps:remove(Place, Places); _ -> Places end,
                doomed := case IsOrphan orelse Reason =:= killed of true -> Doomed#{Pid => true}; false -> Doomed end
            },
            case IsOrphan of
                true -> Next#{orphans := [name(Place) | Orphans]};
                false -> token(["e", name(Place), "=", word(Reason)], Next)
            end;
        %% A supervisor that could not start its children: its start has failed.
        #{} -> State
    end.

is_doomed(none, _, _) -> false;
is_doomed(Pid, _, Doomed) when is_map_key(Pid, Doomed) -> true;
is_doomed(Pid, Lives, Doomed) ->
    case Lives of
        #{Pid := {_, Parent}} -> is_doomed(Parent, Lives, Doomed);
        #{} -> false
    end.

tables(#{sups := Sups}) -> lists:join($\s, [table(Group, Pid) || {Group, Pid} <- lists:sort(maps:to_list(Sups))]).

table(Group, Pid) ->
    Children = lists:reverse(supervisor:which_children(Pid)),
    Counts = supervisor:count_children(Pid),
    [Specs, Active, Supervisors, Workers] = [proplists:get_value(Key, Counts) || Key <- [specs, active, supervisors, workers]],
    [
        integer_to_list(Group), $:, [[$a + Slot, sign(Child)] || {Slot, Child, _, _} <- Children],
        io_lib:format("(~b,~b,~b,~b)", [Specs, Active, Supervisors, Workers])
    ].

sign(Pid) when is_pid(Pid) -> $+;
sign(undefined) -> $-;
sign(restarting) -> $~.

%% -- The window, in real time

%% Tells which of the ends, by their numbers from 1, was one too many; 0: none. An end is a time in milliseconds and the number of a child.
window(Driver, Number, Flags, Ends) ->
    process_flag(trap_exit, true),
    Parsed = [{number(Time), number(Slot)} || End <- Ends, [Time, Slot] <- [binary:split(End, <<":">>)]],
    Slots = lists:usort([Slot || {_, Slot} <- Parsed]),
    {ok, Pid} = gen_server:start_link(supervisor, {self, ?MODULE, {window, Flags, Slots}}, []),
    Driver ! {window, Number, one_too_many(Pid, erlang:monotonic_time(millisecond), Parsed, 1)}.

one_too_many(_, _, [], _) -> 0;
one_too_many(Pid, Began, [{Time, Slot} | Ends], Position) ->
    timer:sleep(max(0, Began + Time - erlang:monotonic_time(millisecond))),
    {_, Child, _, _} = lists:keyfind(Slot, 1, supervisor:which_children(Pid)),
    Monitor = monitor(process, Child),
    exit(Child, kill),
    receive {'DOWN', Monitor, process, Child, _} -> ok end,
    %% The answer comes after the child's end was handled, which the supervisor has heard of before.
    case catch supervisor:which_children(Pid) of
        {'EXIT', _} -> Position;
        _ -> one_too_many(Pid, Began, Ends, Position + 1)
    end.

start_idle() ->
    {ok, spawn_link(fun() -> receive never -> ok end end)}.

windows(Numbers) ->
    [receive {window, Number, Position} -> [Number, $\s, integer_to_list(Position), $\n] end || Number <- lists:reverse(Numbers)].

%% -- Words

name(root) -> "0";
name({Group, Slot}) -> [integer_to_list(Group), $a + Slot].

number(Word) -> binary_to_integer(Word).

has(Group) -> ets:lookup_element(?MODULE, {has, Group}, 2).

flags([Strategy, Intensity, Period, AutoShutdown]) ->
    #{
        strategy => binary_to_atom(Strategy), intensity => number(Intensity), period => number(Period),
        auto_shutdown => binary_to_atom(AutoShutdown)
    }.

specification({_, Slot} = Place, [Restart, Shutdown, Significant]) ->
    [{_, Hosted, _}] = ets:lookup(?MODULE, {place, Place}),
    #{
        id => Slot,
        start => {?MODULE, start_life, [Place]},
        restart => binary_to_atom(Restart),
        shutdown => shutdown(Shutdown),
        significant => binary_to_atom(Significant),
        type => case Hosted < 0 of true -> worker; false -> supervisor end
    }.

shutdown(<<"infinity">>) -> infinity;
shutdown(<<"brutal_kill">>) -> brutal_kill;
shutdown(Milliseconds) -> number(Milliseconds).

reason(<<"gone">>) -> {shutdown, done};
reason(Word) -> binary_to_atom(Word).

word({shutdown, done}) -> "gone";
word(Reason) when is_atom(Reason) -> atom_to_list(Reason);
word(Reason) -> io_lib:format("~0p", [Reason]).
