# Sidekiq: push_bulk of a batch, one process of 10 threads, as in its documentation.
require "json"
require "sidekiq"

THREADS = 10

role = ARGV[0]
jobs, batch, payload, port = ARGV[1..].map(&:to_i)
redis = { url: "redis://127.0.0.1:#{port}/0" }
Sidekiq.logger.level = Logger::WARN

class Bench
  include Sidekiq::Worker
  sidekiq_options queue: "default", retry: false
  FINISHED = Queue.new

  def perform(_text)
    FINISHED << 1
  end
end

def wait_for_go
  puts "ready"
  $stdout.flush
  $stdin.gets
end

case role
when "producer"
  Sidekiq.configure_client { |config| config.redis = redis }
  Sidekiq.redis(&:ping)
  text = "x" * (payload - '[""]'.size)
  wait_for_go
  (0...jobs).step(batch) do |from|
    count = [batch, jobs - from].min
    Sidekiq::Client.push_bulk("class" => Bench, "args" => Array.new(count) { [text] })
  end
  puts JSON.generate(jobs: jobs)
when "worker"
  # Requiring it makes this process a Sidekiq server.
  require "sidekiq/cli"
  require "sidekiq/launcher"
  Sidekiq.configure_server { |config| config.redis = redis }
  Sidekiq.options.merge!(concurrency: THREADS, queues: ["default"])
  launcher = Sidekiq::Launcher.new(Sidekiq.options)
  launcher.run
  wait_for_go
  jobs.times { Bench::FINISHED.pop }
  puts JSON.generate(jobs: jobs)
  $stdout.flush
  launcher.stop
end
