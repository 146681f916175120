%% A chain of gen_servers that hand an ask on to the last one, which answers the asker.
-module(chain).
-behaviour(gen_server).
-export([measure/1, init/1, handle_call/3, handle_cast/2]).

init(Next) -> {ok, Next}.

handle_call({echo, Payload}, _From, last) -> {reply, Payload, last};
handle_call(Ask, From, Next) -> gen_server:cast(Next, {climbing, Ask, From}), {noreply, Next}.

handle_cast({climbing, {echo, Payload}, From}, last) -> gen_server:reply(From, Payload), {noreply, last};
handle_cast(Climbing, Next) -> gen_server:cast(Next, Climbing), {noreply, Next}.

measure([Count | Depths]) -> [measure(list_to_integer(Depth), list_to_integer(Count)) || Depth <- Depths].

measure(Depth, Count) ->
    First = lists:foldl(fun(_, Next) -> {ok, Server} = gen_server:start_link(?MODULE, Next, []), Server end, last, lists:seq(1, Depth)),
    round_trips:times("call", First, 1000),
    Sorted = lists:sort(round_trips:times("call", First, Count)),
    peers:print(["p50/", integer_to_list(Depth)], lists:nth(Count div 2 + 1, Sorted)).
