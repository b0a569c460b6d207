import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@Suite("The URLs of servers in cachectl", .limit(minutes: 5)) struct ServerURLTests {
    let cachectl = Shell()

    @Test(arguments: [
        ["queue", "list", "--queue", "postgresql://anna:s3cret@h/d"],
        ["queue", "list", "--queue=postgres://anna:s3cret@h/d"],
        ["queue", "list", "--queue", "postgresql://anna@h/d?sslmode=disable&password=s3cret"],
        ["queue", "list", "--queue", "postgresql://anna@h/d?pass%77ord=s3cret"],
        ["queue", "list", "--queue", "postgresql://h/d?sslpassword=s3cret"],
        ["list", "--cache", "valkey://:s3cret@h"], ["list", "--cache=rediss://anna:s3cret@h:1/0?prefix=a"],
        ["queue", "move", "postgresql://anna:s3cret@h/d", "/tmp/store"], ["list", "postgresql://anna:s3cret@h/d"],
        ["--nonsense=postgresql://anna:s3cret@h/d"], ["queue", "list", "--queue", "postgresql://anna:s3/cr@et@h/d"],
    ]) func `a password is refused with the remedy, and is never printed`(arguments: [String]) async throws {
        let outcome = try await cachectl(arguments)
        #expect(outcome.status == 64 && outcome.text.isEmpty)
        #expect(outcome.errors.contains("~/.pgpass") && outcome.errors.contains("DIAMOND_QUEUE"), "\(outcome.errors)")
        #expect(!outcome.errors.contains("s3") && !outcome.errors.contains("anna"))
    }

    @Test(arguments: [
        (["queue", "list", "--queue", "db.example.com"], "--queue is not the URL of a server"),
        (["list", "--cache", "/tmp/store"], "--cache is not the URL of a server"),
        (["list", "--cache", "valkey://h", "--store", "/tmp/s"], "name two caches"),
        (["queue", "list", "--queue", "postgresql://h/d", "--app", "s"], "name two queues"),
        (["queue", "list", "--queue", "postgresql://h/d", "--key-file", "k"], "not sealed"),
        (["simulate", "--cache", "valkey://h"], "a server records no accesses: name a store"),
        (["downloads", "--cache", "valkey://h"], "a server keeps no parts of downloads: name a store"),
        (["list", "--queue", "postgresql://h/d"], "Unknown option '--queue'"),
        (["queue", "list", "--cache", "valkey://h"], "Unknown option '--cache'"),
    ]) func `a place that a command cannot use is refused`(arguments: [String], part: String) async throws {
        let outcome = try await cachectl(arguments)
        #expect(outcome.status == 64 && outcome.text.isEmpty && outcome.errors.contains(part), "\(outcome.errors)")
    }

    @Test func `a malformed variable is refused without its value, and an option counts more`() async throws {
        let variables = ["DIAMOND_QUEUE": "s3cret@h", "DIAMOND_CACHE": "s3cret@h"]
        for arguments in [["queue", "list"], ["list"]] {
            let outcome = try await cachectl(arguments, environment: variables)
            #expect(outcome.status == 64 && outcome.errors.contains("is not the URL of a server"), "\(outcome.errors)")
            #expect(!outcome.errors.contains("s3cret"))
            let local = try await cachectl(arguments + ["--store", "/nonexistent"], environment: variables)
            #expect(local.status == 4, "\(local.errors)")
        }
    }

    @Test func `the trait is named that a URL needs`() async throws {
        #if !Postgres
        let queue = try await cachectl("queue", "list", "--queue", "postgresql://h/d")
        #expect(queue.status == 64 && queue.errors.contains("--traits default,Tools,Postgres"), "\(queue.errors)")
        #endif
        #if !Valkey
        let cache = try await cachectl("list", "--cache", "valkey://h")
        #expect(cache.status == 64 && cache.errors.contains("--traits default,Tools,Valkey"), "\(cache.errors)")
        #endif
        let wrong = try await cachectl("queue", "list", "--queue", "valkey://h")
        #expect(wrong.status == 64 && wrong.errors.contains("Valkey has no queue"))
    }
}
