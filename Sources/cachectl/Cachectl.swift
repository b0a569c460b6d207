#if Tools
import ArgumentParser

@main
struct Cachectl: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cachectl",
        abstract: "Sends requests through Diamond's cache, and shows and tends what the cache and the queue hold.",
        discussion: """
            The store is the directory of --store, or what the program --app keeps where it names none (by the identifier \
            of its bundle, or the name of its executable; where several are called so, with the digest behind it), else the directory of the variable DIAMOND_STORE, else \
            cachectl's own. It may be in use by running programs.

            The key of a sealed store is read from --key-file, a file that only its owner may read, or from the variable \
            DIAMOND_CACHE_KEY; its name, where it has one, is --key-id or DIAMOND_CACHE_KEY_ID. Without it, what is sealed \
            is shown as •••. Older keys open what they have sealed: give each with a --key-file and --key-id of its own, or \
            behind a space in the variables; the first key is the one that seals.

            EXIT CODES
              0   done
              1   nothing found, two requests differ, a job is in no state for it or has to be looked at, or the store \
            needs mending
              2   the server answered with an error status, 400 or more
              3   no response: unreachable, timed out, broken
              4   the store cannot be opened or written
              5   the store is sealed, and its key was not given
              6   the request came to no end, and is kept in the queue: to be sent later, or for a person \
            to look at
              64  wrong usage, or a request that cannot be sent
              74  the output cannot be written
            """,
        version: "0.1.0-dev",
        subcommands: [
            Send.self, Key.self, List.self, Show.self, Stats.self, Simulate.self, Purge.self, Invalidate.self,
            Evict.self, Pin.self, Unpin.self, Verify.self, Doctor.self, Queue.self,
        ]
    )
}

extension Cachectl {
    /// As the parser's own, but for what it prints: arguments are repeated there as they came.
    static func main() async {
        do {
            try Arguments.check()
            var command = try parseAsRoot()
            if var command = command as? any AsyncParsableCommand { try await command.run() } else { try command.run() }
        } catch {
            let (text, code) = (fullMessage(for: error), exitCode(for: error))
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
