#if Tools
import ArgumentParser

// Each command writes its name. To derive one from its type, the parser asks the runtime, which searches all conformances
// of the program: for all commands, a sixth of the time of a start.
@main
struct Cachectl: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cachectl",
        abstract: "Sends requests through Diamond's HTTP cache, and inspects and manages the cache and the queue.",
        discussion: """
            The store is a directory: --store, the store of the program named by --app, the variable DIAMOND_STORE, or \
            cachectl's own store, in this order. --app takes a bundle identifier or the name of an executable. If \
            several programs have that name, the error message lists their stores. Running programs may use the store \
            at the same time.

            --cache names a cache on a server, and --queue a queue: valkey://HOST, postgresql://USER@HOST/DATABASE. So \
            do the variables DIAMOND_CACHE and DIAMOND_QUEUE, which may have a password in the URL. The command line \
            may not: other users can read it.

            A sealed store needs its key: --key-file, a file that only its owner can read, or the variable \
            DIAMOND_CACHE_KEY. If the key has a name, give --key-id or DIAMOND_CACHE_KEY_ID. Without the key, sealed \
            values are printed as •••. To read entries that older keys sealed, repeat --key-file and --key-id, or \
            separate the keys in the variables with spaces. The first key seals new entries.

            EXAMPLE
              cachectl send https://api.example.com/items

            EXIT CODES
              0   done
              1   no entry or job with that key or id, two requests differ, the store is
                  damaged, or a job is dead, in review or in another state than the
                  command needs
              2   the server answered with an error status, 400 or more
              3   no response: unreachable, timed out or interrupted
              4   the store cannot be opened or written
              5   the store is sealed, and its key was not given
              6   no response yet: the request is in the queue, to be sent or reviewed
              7   an assertion of send failed
              8   a placeholder of send has no value, or none could be captured
              64  wrong usage, or a request that cannot be sent
              74  the output cannot be written
              141 the reader of the output has closed it, as head does
            """,
        version: "0.1.0-dev",
        subcommands: [
            Send.self, Key.self, Explain.self, List.self, Show.self, Diff.self, Stats.self, Export.self,
            Import.self, Simulate.self, Purge.self, Invalidate.self, Evict.self, Pin.self, Unpin.self, Downloads.self,
            Verify.self, Doctor.self, Watch.self, Top.self, Queue.self, ProxyCommand.self, Serve.self,
        ]
    )
}

extension Cachectl {
    /// Runs the command. Unlike the parser's `main`, escapes control characters in messages that repeat arguments, and
    /// reports errors of Diamond with their exit codes.
    static func main() async {
        do {
            try Arguments.check()
            var command = try parseAsRoot()
            if var command = command as? any AsyncParsableCommand { try await command.run() } else { try command.run() }
        } catch {
            let error = Failure.reported(error)
            let text = fullMessage(for: error)
            let code = exitCode(for: error)
            if !text.isEmpty { code.isSuccess ? Output.lines(text) : Output.notes(text) }
            exit(withError: code)
        }
    }
}
#else
import Foundation

@main
struct Cachectl {
    static func main() {
        let command = "swift build --traits default,Tools --product cachectl"
        FileHandle.standardError.write(Data("cachectl is built only with the Tools trait: \(command)\n".utf8))
        exit(64)
    }
}
#endif
