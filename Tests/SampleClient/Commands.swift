#if Tools
import ArgumentParser
import Diamond

// The command line: each command has its arguments, and calls the client.

extension SampleClient {
    struct Login: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Signs a user in. The password is read from standard input.")
        @Argument(help: "The name of the user.") var user: String
        @OptionGroup var options: Options

        func run() async throws {
            guard let password = readLine() else { throw ValidationError("Write the password to standard input.") }
            try await options.run { [user] in try await $0.login(user, password: password) }
        }
    }

    struct Logout: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Signs the user out, erases the stored data, and holds queued notes until the next login.")
        @Flag(help: "Erases the queued notes, too.") var discardNotes = false
        @OptionGroup var options: Options

        func run() async throws {
            try await options.run { [discardNotes] in try await $0.logout(discardingNotes: discardNotes) }
        }
    }

    struct Cities: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists cities, the largest first.")
        @Option(help: "Only cities of this country, such as DE.") var country: String?
        @Option(help: "The number of cities on a page.") var pageSize = 20
        @Flag(help: "Lists every page.") var all = false
        @OptionGroup var options: Options

        func run() async throws {
            let call = ListCities(country: country, limit: pageSize)
            try await options.run { [all] in try await $0.list(call, isWhole: all) }
        }
    }

    struct Search: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Finds cities by a part of their name.")
        @Argument(help: "The part of the name. Case and accents do not matter.") var text: String
        @OptionGroup var options: Options

        func run() async throws { try await options.run { [text] in try await $0.search(text) } }
    }

    struct City: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Shows a city.")
        @Argument(help: "The id of the city.") var id: Int
        @OptionGroup var options: Options

        func run() async throws { try await options.run { [id] in try await $0.show(id) } }
    }

    struct Countries: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists the large cities of each country by name.")
        @Option(help: "The smallest population.") var minPopulation = 5_000_000
        @OptionGroup var options: Options

        func run() async throws {
            try await options.run { [minPopulation] in try await $0.countries(minPopulation: minPopulation) }
        }
    }

    struct Watch: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Shows a city whenever it changes, until Ctrl-C.")
        @Argument(help: "The id of the city.") var id: Int
        @Option(help: "The seconds between two requests.") var every = 10.0
        @Option(help: "Ends after this number of states.") var states: Int?
        @OptionGroup var options: Options

        func run() async throws {
            try await options.run { [id, every, states] in await $0.watch(id, every: .seconds(every), count: states) }
        }
    }

    struct Note: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Writes a note on a city. Without a network it waits in the outbox.")
        @Argument(help: "The id of the city.") var city: Int
        @Argument(help: "The note.") var text: String
        @OptionGroup var options: Options

        func run() async throws { try await options.run { [city, text] in try await $0.add(text, to: city) } }
    }

    struct Notes: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists notes, and then those in the outbox.")
        @Option(help: "Only notes on the city with this id.") var city: Int?
        @OptionGroup var options: Options

        func run() async throws { try await options.run { [city] in try await $0.notes(on: city) } }
    }

    struct Outbox: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists the notes that are not sent, and why.")
        @OptionGroup var options: Options

        func run() async throws { try await options.run { try $0.outbox() } }
    }

    struct Sync: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Sends the notes in the outbox.")
        @OptionGroup var options: Options

        func run() async throws { try await options.run { try await $0.sync() } }
    }

    struct Download: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Downloads a file of any size.")
        @Argument(help: "The size in bytes.") var size: Int
        @Argument(help: "The file to write.") var file: String
        @OptionGroup var options: Options

        func run() async throws {
            try await options.run { [size, file] in try await $0.download(size: size, to: file) }
        }
    }
}
#endif
