// SPDX-License-Identifier: Apache-2.0
// The command line: what is said, and which verb hears it.
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <map>

#include <CLI/CLI.hpp>

#include "base/quantity.h"
#include "base/version.h"
#include "cli/commands.h"
#include "cli/embedded.h"
#include "cli/exit_code.h"

namespace sinew::cli {
namespace {

// Examples come first in every help.
class Help final : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    static const std::map<std::string, std::string> examples = {
        {"sinew", "  sinew up                                  a cluster of this machine\n"
                  "  sinew run job.yaml                        submit a job and follow it\n"
                  "  sinew submit -n 4 -- python3 train.py     submit a command\n"
                  "  sinew jobs                                what runs and waits\n"
                  "  sinew explain 12                          why job 12 waits\n"},
        {"submit", "  sinew submit job.yaml --set algorithm.tau=4\n  sinew submit --cpus 2 --time-limit 10m -- make -j2\n"
                   "  sinew submit --dry-run -o yaml job.yaml   the job with all defaults\n"},
        {"run", "  sinew run job.yaml\n  sinew run -n 4 --accelerators v100:2 -- python3 train.py\n"},
        {"jobs", "  sinew jobs                                mine, not ended\n  sinew jobs -a -A -o wide                  all, of everybody\n"
                 "  sinew jobs -o name                        for a pipe\n"},
        {"show", "  sinew job show 12\n  sinew node show n1 -o json\n"},
        {"explain", "  sinew explain 12\n"},
        {"logs", "  sinew logs 12 -f\n  sinew logs 12 --rank 3 --stderr --tail 20\n"},
        {"cancel", "  sinew cancel 12 13\n"},
        {"hold", "  sinew hold 12 13\n"},
        {"release", "  sinew release 12 13\n"},
        {"requeue", "  sinew requeue 12\n  sinew requeue --hold 12\n"},
        {"backup", "  sinew admin backup /backup/sinew-$(date +%F).db\n"},
        {"check", "  sinew admin check /backup/sinew-2026-12-01.db\n"},
        {"restore", "  sinew admin restore /backup/sinew-2026-12-01.db --config /etc/sinew/sinewd.yaml\n"},
        {"cordon", "  sinew node cordon n1 --reason \"fan is loud\"\n"},
        {"drain", "  sinew node drain n1 --reason \"new kernel\"                  waits for what runs there\n"
                  "  sinew node drain n1 --reason \"new kernel\" --deadline 30m   and stops it then\n"},
        {"resume", "  sinew node resume n1\n"},
        {"wait", "  sinew wait 12 --timeout 10m && echo done\n  sinew wait 12 --for running\n"},
        {"nodes", "  sinew nodes -o wide\n"},
        {"up", "  sinew up\n  sinew up --dir ./cluster --nodes 2 --hardware hardware.yaml\n"},
        {"down", "  sinew down\n  sinew down --dir ./cluster --keep-jobs\n"},
    };
    const auto it = examples.find(app->get_name());
    const std::string first = it == examples.end() || mode == CLI::AppFormatMode::Sub ? "" : "Examples:\n" + it->second + "\n";
    return first + CLI::Formatter::make_help(app, name, mode);
  }
};

using Verb = std::function<absl::StatusOr<int>(const Options&)>;

class CommandLine {
 public:
  CommandLine() {
    app_.formatter(std::make_shared<Help>());
    app_.name("sinew");
    app_.require_subcommand(1);
    app_.set_version_flag("--version", std::string("sinew ") + kVersion);
    app_.add_option("--socket", options_.socket, "socket of the daemon (SINEW_SOCKET)")->type_name("PATH");
    app_.add_option("--dir", options_.dir, "folder of a cluster made by `sinew up --dir`")->type_name("DIR");
    app_.add_option("-o,--output", options_.format, "table, wide, json, yaml or name")
        ->type_name("FORMAT")
        ->transform(CLI::CheckedTransformer(std::map<std::string, Format>{{"table", Format::kTable},
                                                                          {"wide", Format::kWide},
                                                                          {"json", Format::kJson},
                                                                          {"yaml", Format::kYaml},
                                                                          {"name", Format::kName}}));
    CLI::App* submit = Add(app_, "submit", "submit a job", Submit);
    Submitting(submit);
    submit->add_flag("--wait", options_.wait, "until it ended; takes its exit status");
    Submitting(Add(app_, "run", "submit a job, follow it and take its exit status", Run));
    CLI::App* jobs = Add(app_, "jobs", "list jobs", Jobs);
    jobs->add_flag("-a,--all", options_.all, "those that ended, too");
    jobs->add_flag("-A,--all-users", options_.all_users, "of all users");
    Watching(jobs);
    CLI::App* job = Group("job", "one job");
    Watching(Named(Add(*job, "show", "all about a job, with its events", JobShow), "JOB", false));
    Watching(Named(Add(app_, "explain", "why a job waits, or how it ended", Explain), "JOB", false));
    CLI::App* logs = Named(Add(app_, "logs", "what a job printed", Logs), "JOB", false);
    logs->add_flag("-f,--follow", options_.follow, "go on until the job ended");
    logs->add_option("--rank", options_.rank, "of one rank; otherwise all, each line with its rank")
        ->transform([](const std::string& text) { return text == "all" ? std::string("-1") : text; }, "RANK|all", "rank");
    logs->add_option("--attempt", options_.attempt, "of that run, from 1; otherwise the newest");
    logs->add_flag("--stderr", options_.errors, "the error output");
    logs->add_option("--tail", options_.tail, "only the last lines")->check(CLI::NonNegativeNumber);
    Named(Add(app_, "cancel", "stop jobs", Cancel), "JOB", true);
    Named(Add(app_, "hold", "keep waiting jobs from being started", Hold), "JOB", true);
    Named(Add(app_, "release", "let held jobs start", Release), "JOB", true);
    Named(Add(app_, "requeue", "stop jobs, to wait and run again", Requeue), "JOB", true)
        ->add_flag("--hold", options_.hold, "and hold them");
    CLI::App* wait = Named(Add(app_, "wait", "wait until jobs ended; exit status 1 unless all completed", Wait), "JOB", true);
    wait->add_option("--for", options_.wait_for, "running, done (unless given) or state=COMPLETED")->type_name("WHAT");
    wait->add_option("--timeout", timeout_, "give up after it, with exit status 7: 30s, 10m")->type_name("DURATION");
    Watching(Add(app_, "nodes", "list nodes", Nodes));
    CLI::App* node = Group("node", "one node");
    Watching(Named(Add(*node, "show", "all about a node", NodeShow), "NODE", false));
    CLI::App* cordon = Named(Add(*node, "cordon", "place nothing new on a node", NodeCordon), "NODE", false);
    cordon->add_option("--reason", options_.reason, "why, for others to read")->type_name("TEXT");
    CLI::App* drain = Named(Add(*node, "drain", "cordon a node, and wait until nothing runs on it", NodeDrain), "NODE", false);
    drain->add_option("--reason", options_.reason, "why, for others to read")->type_name("TEXT")->required();
    drain->add_option("--deadline", deadline_, "then stop what still runs there: jobs with retry on node_fail wait again")
        ->type_name("DURATION");
    drain->add_flag("--force", options_.force, "with --deadline: also stop jobs that may not run again; they fail");
    drain->add_flag("--no-wait", options_.no_wait, "return at once");
    Named(Add(*node, "resume", "let a node take work again", NodeResume), "NODE", false);
    CLI::App* admin = Group("admin", "the daemon's state");
    const auto file = [this](CLI::App* verb, const std::string& what) {
      verb->add_option("FILE", options_.names, what)->required()->type_name("")->expected(1);
      return verb;
    };
    file(Add(*admin, "backup", "copy the state of the running daemon into a file", AdminBackup), "which must not exist");
    file(Add(*admin, "check", "read all of a backup, and say what is wrong with it", AdminCheck), "a backup");
    file(Add(*admin, "restore", "make the state of a daemon that is not running from a backup", AdminRestore), "a backup")
        ->add_option("--config", options_.config, "of the daemon, whose state_dir must hold no state")
        ->type_name("FILE")
        ->capture_default_str();
    CLI::App* up = Add(app_, "up", "start a cluster on this machine, without root", Up);
    up->add_option("--nodes", options_.nodes, "how many nodes; 1 unless given")->check(CLI::Range(1, 64));
    up->add_option("--hardware", options_.hardware, "what each node has, described instead of found")->type_name("FILE");
    Add(app_, "down", "stop the cluster that `sinew up` started", Down)
        ->add_flag("--keep-jobs", options_.keep_jobs, "do not cancel jobs; tasks that run go on");
    Add(app_, "version", "of the client and the daemon", Version);
    Add(app_, "whoami", "whom the daemon takes you for", WhoAmI);
  }

  int Main(int argc, char** argv) {
    std::vector<std::string> words(argv + 1, argv + argc);
    if (const auto mark = std::find(words.begin(), words.end(), "--"); mark != words.end()) {
      options_.command.assign(mark + 1, words.end());
      after_mark_ = true;
      words.erase(mark, words.end());
    }
    const std::vector<std::string> said = words;
    std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
    try {
      app_.parse(words);
    } catch (const CLI::ParseError& error) {
      if (error.get_exit_code() == 0) return app_.exit(error);
      return Misused(said, error);
    }
    absl::StatusOr<int> code = Finish();
    if (code.ok()) code = verb_(options_);
    if (code.ok()) return *code;
    if (options_.format == Format::kJson) {
      std::printf("%s\n", ErrorJson(code.status()).c_str());
    } else {
      std::fprintf(stderr, "sinew: %s\n", ErrorLine(code.status()).c_str());
    }
    return ExitCodeOf(code.status());
  }

 private:
  CLI::App* Add(CLI::App& parent, const std::string& name, const std::string& what, Verb verb) {
    CLI::App* made = parent.add_subcommand(name, what);
    made->fallthrough();
    made->callback([this, verb = std::move(verb), made] {
      verb_ = verb;
      chosen_ = made;
    });
    return made;
  }
  CLI::App* Group(const std::string& name, const std::string& what) {
    CLI::App* made = app_.add_subcommand(name, what);
    made->fallthrough();
    made->require_subcommand(1);
    return made;
  }
  CLI::App* Named(CLI::App* verb, const std::string& what, bool many) {
    CLI::Option* option = verb->add_option(what, options_.names, "its number or name")->required()->type_name("");
    option->expected(1, many ? 10'000 : 1);
    return verb;
  }
  void Watching(CLI::App* verb) { verb->add_flag("-w,--watch", options_.watch, "show it again when it changes"); }

  void Submitting(CLI::App* verb) {
    takes_command_.push_back(verb);
    verb->add_option("FILE", options_.file, "job.yaml, or - for stdin; or a command after --")->type_name("");
    verb->add_option("--set", options_.sets, "set a key of the job: algorithm.tau=4")->type_name("KEY=VALUE")->expected(1)->take_all();
    verb->add_option("--export", options_.exports, "copy a variable into the job, or set it")->type_name("NAME[=VALUE]")->expected(1)->take_all();
    const auto flag = [&](const std::string& names, const std::string& name, const std::string& key, const std::string& what) {
      verb->add_option_function<std::string>(
              names, [this, name, key](const std::string& value) { options_.flags.push_back({name, {key, value}}); }, what)
          ->type_name("");
    };
    flag("--name", "--name", "name", "name of the job");
    flag("-n,--workers", "--workers", "workers", "how many processes");
    flag("--cpus", "--cpus", "resources.cpus", "CPUs for each: 2, 500m");
    flag("--memory", "--memory", "resources.memory", "memory for each: 4Gi");
    flag("--gpus", "--gpus", "resources.accelerators", "accelerators of any type for each: 2");
    flag("--accelerators", "--accelerators", "resources.accelerators", "accelerators for each: v100:2");
    flag("--time-limit", "--time-limit", "time_limit", "stop it after: 30s, 10m, 12h");
    verb->add_flag("--dry-run", options_.dry_run, "check it and show it with all defaults; store nothing");
    verb->add_flag("--parsable", options_.parsable, "print the number of the job alone");
    verb->add_flag("!--no-check-paths", options_.check_paths, "do not look for the job's folders on this machine");
  }

  absl::StatusOr<int> Finish() {
    if (after_mark_ && std::find(takes_command_.begin(), takes_command_.end(), chosen_) == takes_command_.end()) {
      return absl::InvalidArgumentError("a command after -- belongs to `submit` and `run`");
    }
    if (after_mark_ && options_.command.empty()) return absl::InvalidArgumentError("no command after --");
    if (!timeout_.empty()) {
      auto ns = ParseDurationNs(timeout_);
      if (!ns.ok()) return absl::InvalidArgumentError("--timeout: " + std::string(ns.status().message()));
      if (*ns == 0) return absl::InvalidArgumentError("--timeout: 0 is not above 0");
      options_.timeout_ns = *ns;
    }
    if (!deadline_.empty()) {
      auto ns = ParseDurationNs(deadline_);
      if (!ns.ok()) return absl::InvalidArgumentError("--deadline: " + std::string(ns.status().message()));
      options_.deadline_ns = *ns;
    }
    if (options_.force && options_.deadline_ns < 0) {
      return absl::InvalidArgumentError("--force: says what happens at the deadline; add --deadline 0s to stop jobs now");
    }
    return 0;
  }

  // One line that says what is wrong, with the nearest right word.
  int Misused(const std::vector<std::string>& said, const CLI::ParseError& error) {
    const CLI::App* at = &app_;
    std::string line;
    for (size_t i = 0; i < said.size() && line.empty(); ++i) {
      const std::string& word = said[i];
      if (word.rfind("-", 0) == 0 && word.size() > 1) {
        const std::string flag = word.substr(0, word.find('='));
        if (const CLI::Option* option = Find(at, flag); option == nullptr && flag.rfind("--", 0) == 0) {
          line = "unknown flag " + flag + DidYouMean(flag, Flags(at));
        } else if (option != nullptr && option->get_expected_min() > 0 && word.find('=') == std::string::npos) {
          ++i;  // its value
        }
        continue;
      }
      std::vector<std::string> verbs;
      const CLI::App* next = nullptr;
      for (const CLI::App* sub : at->get_subcommands([](const CLI::App*) { return true; })) {
        verbs.push_back(sub->get_name());
        if (sub->get_name() == word) next = sub;
      }
      if (next != nullptr) {
        at = next;
      } else if (!verbs.empty()) {
        line = "unknown command \"" + word + "\"" + DidYouMean(word, verbs);
      }
    }
    if (line.empty()) line = error.what();
    while (!line.empty() && line.back() == '\n') line.pop_back();
    const std::string path = at == &app_ ? "sinew" : (at->get_parent() == &app_ ? "sinew " : "sinew " + at->get_parent()->get_name() + " ") + at->get_name();
    line += "; see `" + path + " --help`";
    std::fprintf(stderr, "sinew: %s\n", ErrorLine(absl::InvalidArgumentError(line)).c_str());
    return kUsage;
  }
  static const CLI::Option* Find(const CLI::App* app, const std::string& flag) {
    for (; app != nullptr; app = app->get_parent()) {
      if (const CLI::Option* option = app->get_option_no_throw(flag); option != nullptr) return option;
    }
    return nullptr;
  }
  static std::vector<std::string> Flags(const CLI::App* app) {
    std::vector<std::string> out;
    for (; app != nullptr; app = app->get_parent()) {
      for (const CLI::Option* option : app->get_options()) {
        for (const std::string& name : option->get_lnames()) out.push_back("--" + name);
      }
    }
    return out;
  }

  CLI::App app_{"Sinew runs training jobs on clusters."};
  Options options_;
  std::string timeout_;
  std::string deadline_;
  bool after_mark_ = false;
  Verb verb_;
  const CLI::App* chosen_ = nullptr;
  std::vector<const CLI::App*> takes_command_;
};

}  // namespace
}  // namespace sinew::cli

int main(int argc, char** argv) {
  const int code = sinew::cli::CommandLine().Main(argc, argv);
  std::fflush(nullptr);
  ::_exit(code);  // threads that follow a job may still wait for the daemon
}
