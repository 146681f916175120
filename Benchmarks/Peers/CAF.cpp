// The actors of CAF: asks, one-way messages and starts, in one process or between two that are connected by CAF's own middleman on the loopback device.
//
// Arguments: a directory (unused), then one of
//   round-trips local|remote COUNT
//   asks local|remote MILLISECONDS NUMBER…
//   one-way local|remote MILLISECONDS SIZE…
//   starts COUNT
// Prints a line for each figure: its name and its value; times are in nanoseconds. CAF's settings are its defaults.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "caf/all.hpp"
#include "caf/io/all.hpp"

using namespace caf;
using std::string;
using clock_type = std::chrono::steady_clock;

using echo_atom = atom_constant<atom("echo")>;
using note_atom = atom_constant<atom("note")>;
using count_atom = atom_constant<atom("count")>;
using go_atom = atom_constant<atom("go")>;

static long long nanoseconds(clock_type::duration duration) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
}

static void print(const string &name, double value) {
    std::printf("%s %.3f\n", name.c_str(), value);
    std::fflush(stdout);
}

// Answers, and counts notes.
struct responder_state {
    long long notes = 0;
};

static behavior responder(stateful_actor<responder_state> *self) {
    return {
        [](echo_atom, string &payload) { return std::move(payload); },
        [=](note_atom, const string &) { ++self->state.notes; },
        [=](count_atom) {
            auto notes = self->state.notes;
            self->state.notes = 0;
            return static_cast<int64_t>(notes);
        },
    };
}

// Asks one after the other until a time, or so many times, and answers how often.
struct asker_state {
    long long asks = 0;
    clock_type::time_point begin, end;
    long long left = 0;
    std::vector<long long> *times = nullptr;
    response_promise done;
};

static void ask(stateful_actor<asker_state> *self, const actor &server, const string &payload) {
    auto &state = self->state;
    // The clock is read for each ask whose time is taken, and else for each sixteenth.
    if (state.times || state.asks % 16 == 0) state.begin = clock_type::now();
    if (state.times ? state.left == 0 : state.begin >= state.end) {
        state.done.deliver(static_cast<int64_t>(state.asks));
        return;
    }
    self->request(server, infinite, echo_atom::value, payload).then([=](const string &answer) {
        auto &state = self->state;
        if (answer.size() != payload.size()) std::abort();
        if (state.times) state.times->push_back(nanoseconds(clock_type::now() - state.begin));
        ++state.asks;
        --state.left;
        ask(self, server, payload);
    });
}

static behavior asker(stateful_actor<asker_state> *self, actor server, std::vector<long long> *times) {
    return {
        [=](go_atom, int64_t milliseconds, int64_t count) {
            auto &state = self->state;
            state.asks = 0;
            state.left = count;
            state.times = times;
            state.end = clock_type::now() + std::chrono::milliseconds(milliseconds);
            state.done = self->make_response_promise();
            ask(self, server, string(64, 'x'));
            return state.done;
        },
    };
}

static void round_trips(actor_system &system, const actor &server, long long count) {
    std::vector<long long> times;
    times.reserve(count + 2000);
    scoped_actor self{system};
    auto asking = self->spawn(asker, server, &times);
    for (long long number : {2000LL, count}) {
        times.clear();
        self->request(asking, infinite, go_atom::value, int64_t{0}, static_cast<int64_t>(number))
            .receive([](int64_t) {}, [](error &) { std::abort(); });
    }
    anon_send_exit(asking, exit_reason::user_shutdown);
    std::sort(times.begin(), times.end());
    print("p50", times[times.size() / 2]);
    print("p99", times[times.size() * 99 / 100]);
}

// The processor time of a process, in nanoseconds.
static double processor_time(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    string text((std::istreambuf_iterator<char>(file)), {});
    unsigned long user = 0, kernel = 0;
    std::sscanf(text.c_str() + text.rfind(')') + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &kernel);
    return static_cast<double>(user + kernel) * 1e9 / sysconf(_SC_CLK_TCK);
}

static void asks(actor_system &system, const actor &server, long long milliseconds, std::vector<long long> numbers, std::vector<pid_t> processes) {
    scoped_actor self{system};
    auto asked = [&](long long number, long long milliseconds) {
        std::vector<actor> askers;
        for (long long index = 0; index < number; ++index) askers.push_back(self->spawn(asker, server, static_cast<std::vector<long long> *>(nullptr)));
        long long asks = 0;
        auto begin = clock_type::now();
        for (auto &asking : askers) self->send(asking, go_atom::value, static_cast<int64_t>(milliseconds), int64_t{0});
        size_t answers = 0;
        self->receive_while([&] { return answers < askers.size(); })([&](int64_t count) {
            asks += count;
            ++answers;
        });
        auto time = nanoseconds(clock_type::now() - begin);
        for (auto &asking : askers) anon_send_exit(asking, exit_reason::user_shutdown);
        return std::make_pair(asks, time);
    };
    asked(16, 200);
    for (auto number : numbers) {
        auto used = [&] {
            double sum = 0;
            for (auto process : processes) sum += processor_time(process);
            return sum;
        };
        auto before = used();
        auto [count, time] = asked(number, milliseconds);
        auto name = std::to_string(number);
        print("rate/" + name, count * 1e9 / time);
        print("round/" + name, static_cast<double>(number) * time / count);
        print("processor/" + name, (used() - before) / count);
    }
}

// Sends from an actor, since one that blocks a thread isn't what CAF's users send from.
struct sender_state {
    clock_type::time_point begin, end;
    string payload;
    actor receiver;
    response_promise done;
};

static behavior sender(stateful_actor<sender_state> *self) {
    return {
        [=](go_atom, actor receiver, int64_t size, int64_t milliseconds) {
            auto &state = self->state;
            state.payload = string(size, 'x');
            state.receiver = receiver;
            state.begin = clock_type::now();
            state.end = state.begin + std::chrono::milliseconds(milliseconds);
            state.done = self->make_response_promise();
            self->send(self, go_atom::value);
            return state.done;
        },
        [=](go_atom) {
            auto &state = self->state;
            for (int index = 0; index < 64; ++index) self->send(state.receiver, note_atom::value, state.payload);
            if (clock_type::now() < state.end) return self->send(self, go_atom::value);
            self->request(state.receiver, infinite, count_atom::value).then([=](int64_t notes) {
                auto &state = self->state;
                state.done.deliver(notes, static_cast<int64_t>(nanoseconds(clock_type::now() - state.begin)));
            });
        },
    };
}

static void one_way(actor_system &system, const actor &server, long long milliseconds, std::vector<long long> sizes) {
    scoped_actor self{system};
    auto sending = self->spawn(sender);
    auto sent = [&](long long size, long long milliseconds) {
        std::pair<double, double> result;
        self->request(sending, infinite, go_atom::value, server, static_cast<int64_t>(size), static_cast<int64_t>(milliseconds))
            .receive([&](int64_t notes, int64_t time) { result = {notes, time}; }, [](error &) { std::abort(); });
        return result;
    };
    sent(64, 200);
    for (auto size : sizes) {
        auto [notes, time] = sent(size, milliseconds);
        print("rate/" + std::to_string(size), notes * 1e9 / time);
        print("message/" + std::to_string(size), time / notes);
    }
    anon_send_exit(sending, exit_reason::user_shutdown);
}

static double resident_bytes() {
    std::ifstream file("/proc/self/statm");
    long long all = 0, resident = 0;
    file >> all >> resident;
    return resident * 4096.0;
}

// Nothing supervises these.
static void starts(actor_system &system, long long count) {
    std::vector<actor> actors;
    actors.reserve(count);
    auto start = [&](long long count) {
        for (long long index = 0; index < count; ++index) actors.push_back(system.spawn(responder));
    };
    scoped_actor self{system};
    auto stop = [&] {
        for (auto &each : actors) {
            self->send_exit(each, exit_reason::user_shutdown);
            self->wait_for(each);
        }
        actors.clear();
    };
    start(100);
    stop();
    auto resident = resident_bytes();
    auto begin = clock_type::now();
    start(count);
    auto time = nanoseconds(clock_type::now() - begin);
    print("starts", count * 1e9 / time);
    print("start", static_cast<double>(time) / count);
    print("time", time);
    print("bytes", (resident_bytes() - resident) / count);
    begin = clock_type::now();
    stop();
    print("stops", count * 1e9 / nanoseconds(clock_type::now() - begin));
}

static std::vector<long long> numbers(char **from, char **end) {
    std::vector<long long> all;
    for (; from < end; ++from) all.push_back(std::atoll(*from));
    return all;
}

static void measure(actor_system &system, const actor &server, int count, char **arguments, std::vector<pid_t> processes) {
    string kind = arguments[2];
    auto rest = numbers(arguments + 4, arguments + count);
    auto tail = rest.empty() ? rest : std::vector<long long>(rest.begin() + 1, rest.end());
    if (kind == "round-trips") round_trips(system, server, rest.at(0));
    if (kind == "asks") asks(system, server, rest.at(0), tail, processes);
    if (kind == "one-way") one_way(system, server, rest.at(0), tail);
}

int main(int count, char **arguments) {
    string kind = count > 3 ? arguments[2] : "";
    string place = kind == "starts" ? "local" : count > 4 ? arguments[3] : "";
    if ((place != "local" && place != "remote") || (kind != "round-trips" && kind != "asks" && kind != "one-way" && kind != "starts")) {
        std::fprintf(stderr, "see the first lines of CAF.cpp for the arguments\n");
        return 64;
    }
    int pipe_ends[2];
    if (pipe(pipe_ends) != 0) return 1;
    // The process that asks and sends; it begins before there is any thread.
    pid_t asking = place == "remote" ? fork() : -1;
    if (asking == 0) prctl(PR_SET_PDEATHSIG, SIGKILL);
    actor_system_config configuration;
    configuration.load<io::middleman>();
    // CAF 0.17 reads a file of settings from the working directory otherwise.
    if (configuration.parse(0, nullptr, "/dev/null")) return 1;
    actor_system system{configuration};
    if (asking == 0) {
        uint16_t port = 0;
        if (read(pipe_ends[0], &port, sizeof port) != sizeof port) return 1;
        auto server = system.middleman().remote_actor("127.0.0.1", port);
        if (!server) return 1;
        measure(system, *server, count, arguments, {getpid(), getppid()});
        std::fflush(stdout);
        _exit(0);
    }
    if (kind == "starts") {
        starts(system, std::atoll(arguments[3]));
        return 0;
    }
    auto server = system.spawn(responder);
    int status = 0;
    if (asking > 0) {
        auto port = system.middleman().publish(server, 0, "127.0.0.1");
        if (!port || write(pipe_ends[1], &*port, sizeof *port) != sizeof *port) return 1;
        waitpid(asking, &status, 0);
    } else {
        measure(system, server, count, arguments, {getpid()});
    }
    anon_send_exit(server, exit_reason::user_shutdown);
    std::fflush(stdout);
    // The middleman's threads need no orderly end.
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}
