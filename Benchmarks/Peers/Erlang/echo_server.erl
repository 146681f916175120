%% A server that sends every payload back, and counts notes.
-module(echo_server).
-behaviour(gen_server).
-export([start_link/0, init/1, handle_call/3, handle_cast/2]).

start_link() -> gen_server:start_link(?MODULE, [], []).

init([]) -> {ok, 0}.

handle_call({echo, Payload}, _From, Notes) -> {reply, Payload, Notes};
handle_call(notes, _From, Notes) -> {reply, Notes, 0}.

handle_cast({note, _Payload}, Notes) -> {noreply, Notes + 1}.
